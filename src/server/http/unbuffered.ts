/**
 * Asks a proxy such as nginx, which collects a reply before it passes it on, to pass on at once what a client waits
 * for.
 */
export const UNBUFFERED: Readonly<Record<string, string>> = { 'x-accel-buffering': 'no' };
