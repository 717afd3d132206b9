/** The types of the package that the bench uses; the package does not have its own. */
declare module 'autocannon' {
  type Options = {
    url: string;
    connections: number;
    /** In seconds. Excludes `amount`, which is a number of requests. */
    duration?: number;
    amount?: number;
    idReplacement?: boolean;
    requests: { method: 'GET'; path: string }[];
  };
  type Result = { requests: { average: number }; errors: number; timeouts: number; '5xx': number; non2xx: number };
  function autocannon(options: Options): Promise<Result>;
  export = autocannon;
}
