/** Replaces properties and methods of prototypes. */

type Owner = { readonly prototype: object } | undefined;
type Method = (...values: unknown[]) => unknown;

/**
 * Makes a getter return the result of `read`, which gets the original value and the object. A property that the browser
 * lacks, or that is fixed, stays as it is.
 */
export function wrapGetter<T, V>(owner: Owner, name: string, read: (value: T, object: V) => unknown): void {
  if (!owner) return;
  const known = Object.getOwnPropertyDescriptor(owner.prototype, name);
  const get = known?.get;
  if (!get || !known.configurable) return;
  Object.defineProperty(owner.prototype, name, {
    ...known,
    get(this: V) {
      return read(get.call(this), this);
    },
  });
}

/** The methods of an object by name, so that they can be replaced whatever their types are. */
export function methodsOf(object: object): Record<string, Method> {
  return object as Record<string, Method>;
}
