/**
 * An OpenID Connect provider: authorization code flow with PKCE, state and nonce. The provider is asked for its
 * addresses when somebody signs in for the first time, so a server starts also while the provider is down.
 */
import type { Configuration, IDToken, UserInfoResponse } from 'openid-client';
import type { Person } from '../tokens/role.ts';
import type { OidcOptions } from './sign-in-options.ts';

const TIMEOUT_SECONDS = 15;
const DEFAULT_SCOPE = 'openid profile email';
const DEFAULT_GROUPS_CLAIM = 'groups';
const NAME_CHARACTERS_MAX = 200;
const GROUPS_MAX = 500;

/** What has to be remembered between the two halves of a sign-in. */
export type SignInChecks = { readonly state: string; readonly nonce: string; readonly verifier: string };

export type SignedIn = { readonly person: Person; readonly idToken: string };

export class OidcProvider {
  readonly #options: OidcOptions;
  #found: Promise<Configuration> | undefined;

  constructor(options: OidcOptions) {
    this.#options = options;
  }

  /** The host of the provider, for people. */
  get name(): string {
    return new URL(this.#options.issuer).host;
  }

  /** The address at the provider where a person signs in. */
  async begin(redirectUri: string): Promise<{ url: URL; checks: SignInChecks }> {
    const client = await import('openid-client');
    const checks = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(await this.#configuration(), {
      redirect_uri: redirectUri,
      scope: this.#options.scope ?? DEFAULT_SCOPE,
      code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
      state: checks.state,
      nonce: checks.nonce,
    });
    return { url, checks };
  }

  /** Who has signed in, by the address to which the provider sent the browser. Throws when anything does not fit. */
  async finish(callback: URL, { state, nonce, verifier }: SignInChecks): Promise<SignedIn> {
    const client = await import('openid-client');
    const configuration = await this.#configuration();
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    const { userinfo_endpoint: endpoint } = configuration.serverMetadata();
    const isComplete = this.#groupsIn(claims).length > 0 && claims.preferred_username !== undefined;
    const more =
      isComplete || endpoint === undefined
        ? {}
        : await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    return { person: this.#personOf({ ...more, ...claims }), idToken: tokens.id_token! };
  }

  /** The address at the provider where the person signs out there too; undefined when the provider has none. */
  async signOutAddress(idToken: string | undefined, returnTo: string): Promise<string | undefined> {
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    const client = await import('openid-client');
    const parameters = {
      post_logout_redirect_uri: returnTo,
      ...(idToken !== undefined && { id_token_hint: idToken }),
    };
    return client.buildEndSessionUrl(configuration, parameters).href;
  }

  #configuration(): Promise<Configuration> {
    this.#found ??= this.#discover().catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }

  async #discover(): Promise<Configuration> {
    const client = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.#options;
    const url = new URL(issuer);
    const secret = clientSecret === undefined ? client.None() : client.ClientSecretBasic(clientSecret);
    return client.discovery(url, clientId, undefined, secret, {
      timeout: TIMEOUT_SECONDS,
      // Only a provider on this machine may have no TLS (checkSignIn).
      ...(url.protocol === 'http:' && { execute: [client.allowInsecureRequests] }),
    });
  }

  #personOf(claims: Claims): Person {
    const { sub, preferred_username: userName, name, email, email_verified: isVerified } = claims;
    const verifiedEmail = typeof email === 'string' && isVerified === true ? [email] : [];
    const shown = [userName, email, name, sub].find((text) => typeof text === 'string' && text !== '');
    return {
      name: String(shown).slice(0, NAME_CHARACTERS_MAX),
      ids: [sub, ...verifiedEmail],
      groups: this.#groupsIn(claims),
    };
  }

  #groupsIn(claims: Claims): string[] {
    const claim = this.#options.groupsClaim ?? DEFAULT_GROUPS_CLAIM;
    const nested = claim.split('.').reduce<unknown>((value, part) => (value as Claims | undefined)?.[part], claims);
    const value = (claims as Record<string, unknown>)[claim] ?? nested;
    const groups = Array.isArray(value) ? value : [value];
    return groups.filter((group): group is string => typeof group === 'string').slice(0, GROUPS_MAX);
  }
}

type Claims = Partial<UserInfoResponse> & IDToken & { readonly [claim: string]: unknown };
