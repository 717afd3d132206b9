/** Notices for content that is loading, missing or failed. */
import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/client.ts';
import { useInfo } from '../api/request.ts';
import { Icon } from './icon.tsx';

export function Waiting({ what }: { what: string }) {
  return (
    <p class="waiting" role="status">
      {what}
    </p>
  );
}

/** A failure, with advice. */
export function FaultNotice({ error, onRetry }: { error: ApiError; onRetry?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <Icon name="wrong" />
      <div>
        <p class="notice-title">{error.message}</p>
        {error.where && <p class="notice-where">{error.where}</p>}
        {error.advice && <p>{withCode(error.advice)}</p>}
        {onRetry && (
          <button type="button" onClick={onRetry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

type NoteProperties = { readonly title: string; readonly isBad?: boolean; readonly children?: ComponentChildren };

export function Note({ title, isBad = false, children }: NoteProperties) {
  return (
    <div class={isBad ? 'notice bad' : 'notice'}>
      {isBad && <Icon name="wrong" />}
      <div>
        <p class="notice-title">{title}</p>
        {children}
      </div>
    </div>
  );
}

/** Formats the parts of a sentence between backquotes as code. */
export function withCode(sentence: string): ComponentChildren {
  return sentence.split('`').map((part, index) => (index % 2 === 1 ? <Code key={index} text={part} /> : part));
}

/** Shows a Pinakes command with the program name that works on the machine of the server. */
function Code({ text }: { text: string }) {
  const program = useInfo()?.program ?? 'pinakes';
  return <code>{text.replace(/^pinakes(?= )/, () => program)}</code>;
}
