/** The parts of css-tree that need none of its tables of properties, which take a sixth of a second and nine megabytes to load, in every thread that reads pages. */
declare module 'css-tree/tokenizer' {
  export { tokenize, tokenTypes } from 'css-tree';
}

declare module 'css-tree/utils' {
  export { string, url } from 'css-tree';
}
