/** The function that rewritten scripts call in place of `import()`. */

type Import = (base: string | undefined, specifier: unknown, options?: object) => Promise<unknown>;
type ImportWithOptions = (link: string, options: object) => Promise<unknown>;

/** Leaves names without a path to the import map of the page. */
export function importerOf(linkOf: (specifier: string, base: string | undefined) => string): Import {
  let importWithOptions: ImportWithOptions | undefined;
  return (base, specifier, options) => {
    try {
      const name = String(specifier);
      const link = /^(?:\.{0,2}\/|[a-z][a-z0-9+.-]*:)/i.test(name) ? linkOf(name, base) : name;
      if (options === undefined) return import(link);
      // Older browsers cannot parse a second argument.
      importWithOptions ??= new Function('link', 'options', 'return import(link, options)') as ImportWithOptions;
      return importWithOptions(link, options);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}
