/** The page that says why a sign-in did not succeed, and how to go on. */
import { escapeHtml, plainPage } from '../http/problem.ts';

/**
 * `unreachable`: the provider does not answer. `outdated`: the sign-in was begun too long ago, or in another browser.
 * `declined`: the person, or the provider, broke it off. `failed`: what the provider sent does not fit. `roleless`: the
 * person is known, and has no role here.
 */
export type RefusalReason = 'unreachable' | 'outdated' | 'declined' | 'failed' | 'roleless';

export type Refusal = {
  readonly reason: RefusalReason;
  /** The path to which the person wanted. */
  readonly to: string;
  readonly name?: string;
  readonly provider: string;
  readonly home: string;
};

const TEXTS: Readonly<Record<RefusalReason, { status: number; title: string; says: (refusal: Refusal) => string }>> = {
  unreachable: {
    status: 503,
    title: 'Nobody can sign in at the moment',
    says: ({ provider }) => `${provider} does not answer. Try again in a few minutes.`,
  },
  outdated: {
    status: 400,
    title: 'This sign-in is too old',
    says: () => 'It was begun more than ten minutes ago, in another browser, or was finished already. Begin again.',
  },
  declined: {
    status: 403,
    title: 'You are not signed in',
    says: ({ provider }) => `The sign-in was broken off at ${provider}.`,
  },
  failed: {
    status: 403,
    title: 'You are not signed in',
    says: ({ provider }) =>
      `The answer of ${provider} does not belong to this sign-in. Begin again; if it happens again, tell the operator of this archive.`,
  },
  roleless: {
    status: 403,
    title: 'You have no role in this archive',
    says: ({ provider, name }) =>
      `You are ${name} at ${provider}, and this archive has no role for you. Ask its operator to make you a reader, a curator or an administrator.`,
  },
};

export function refusalPage(refusal: Refusal): { readonly status: number; readonly text: string } {
  const { status, title, says } = TEXTS[refusal.reason];
  const again = `/auth/sign-in?${new URLSearchParams({ to: refusal.to })}`;
  const content =
    `<p>${escapeHtml(says(refusal))}</p>` +
    `<p><a href="${escapeHtml(again)}">Sign in again</a> \u00b7 <a href="${escapeHtml(refusal.home)}/">Start page</a></p>`;
  return { status, text: plainPage(title, content) };
}
