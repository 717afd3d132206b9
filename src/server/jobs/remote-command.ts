/** A command of the command line that runs in the process of the server. */
export type RemoteCommand = {
  readonly argv: readonly string[];
  readonly directory: string;
  readonly isTerminal: boolean;
  readonly columns: number;
  /** The user of the machine who typed it. The socket lets only the user of the server in. */
  readonly user: string;
  readonly signal: AbortSignal;
  stdout(bytes: Uint8Array): Promise<void>;
  stderr(bytes: Uint8Array): Promise<void>;
  /** Standard input of the user's own process, requested piece by piece. */
  stdin(): AsyncIterable<Uint8Array>;
  /** Asks the user. Returns undefined when there is no terminal. */
  ask(question: string): Promise<string | undefined>;
  /** Reports progress in one line, for the job. */
  status(text: string): void;
  /** Reports the result as JSON, for the job. */
  report(report: object): void;
  /** A command that shows a preview and asks the user calls this before its first change. It then becomes a job. */
  begins(): Promise<void>;
};

/** Runs a command and returns its exit code. */
export type CommandRunner = (command: RemoteCommand) => Promise<number>;
