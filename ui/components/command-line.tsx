/** A command for a terminal, with a button that copies it. */
import { useState } from 'preact/hooks';
import { useInfo } from '../api/request.ts';

/** A Pinakes command; `words` come after the name of the program. */
export function PinakesCommand({ words }: { words: string }) {
  return <CommandLine command={`${useInfo()?.program ?? 'pinakes'} ${words}`} />;
}

export function CommandLine({ command }: { command: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(command).then(
      () => setIsCopied(true),
      () => {},
    );
  };
  return (
    <div class="command">
      <pre>
        <code>{command}</code>
      </pre>
      <button type="button" onClick={copy} aria-label={`Copy: ${command}`}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}
