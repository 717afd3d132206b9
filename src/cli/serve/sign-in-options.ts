/**
 * The options of `serve` that say how people sign in. Every command loads this file, so it loads nothing of the server.
 */
import type { Command } from 'commander';
import { appendValue } from '../command.ts';

export const SECRET_VARIABLE = 'PINAKES_OIDC_CLIENT_SECRET';

export function withSignInFlags(command: Command): Command {
  return command
    .option('--oidc-issuer <url>', 'let people sign in at this OpenID Connect provider')
    .option('--oidc-client-id <id>', 'the id of this server at the provider')
    .option('--oidc-client-secret-file <file>', `a file with the secret of the client (default: ${SECRET_VARIABLE})`)
    .option('--oidc-scope <scopes>', 'what the provider is asked for (default: "openid profile email")')
    .option('--oidc-groups-claim <name>', 'the claim with the groups of a person (default: groups)')
    .option('--session-idle <time>', 'sign people out who do nothing for this long: 30m, 2h (default: 2h)')
    .option('--session-max <time>', 'sign people out this long after they signed in (default: 12h)')
    .option('--user-header <name>', 'a proxy signs people in, and names them in this header field')
    .option('--groups-header <name>', 'the header field in which the proxy names their groups, with commas between')
    .option('--proxy-secret-file <file>', 'a file with the secret that the proxy sends in X-Pinakes-Proxy-Secret')
    .option('--sign-out-url <url>', 'where the proxy signs people out')
    .option(
      '--role <role=group>',
      'give a role (reader, curator, administrator) to a group, or to all with *; repeatable',
      appendValue,
    )
    .option('--person <role=name>', 'give a role to one person; repeatable', appendValue);
}
