/**
 * The parts of css-tree that do not need its tables of properties. Loading those takes a sixth of a second and nine
 * megabytes in every thread that reads pages.
 */
declare module 'css-tree/tokenizer' {
  export { tokenize, tokenTypes } from 'css-tree';
}

declare module 'css-tree/utils' {
  export { string, url } from 'css-tree';
}
