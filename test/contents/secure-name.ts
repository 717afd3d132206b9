/** Preloaded into a process of a test: `secure.test`, the name in the test certificate, is this machine. */
import dns from 'node:dns';

const SECURE_NAME = 'secure.test';
const lookup = dns.lookup;

dns.lookup = ((name: string, ...rest: [never]) =>
  lookup(name === SECURE_NAME ? 'localhost' : name, ...rest)) as typeof dns.lookup;
