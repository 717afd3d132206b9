/** The parts of a JSON schema that forms are made from. */
export type Schema = {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  /** The label of the choice that sets no value. */
  readonly unset?: string;
  /** The labels of the values of a choice. */
  readonly names?: Readonly<Record<string, string>>;
  /** How many of the server's units (milliseconds) are one of the units that people type (minutes). */
  readonly unit?: number;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
};
