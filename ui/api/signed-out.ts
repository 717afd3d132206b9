/** Sent when the server refuses a request because nobody is signed in. */
export const SIGNED_OUT_EVENT = 'pinakes-signed-out';
