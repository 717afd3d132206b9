/** Tells a proxy such as nginx, which otherwise buffers replies, to forward the reply at once. */
export const UNBUFFERED: Readonly<Record<string, string>> = { 'x-accel-buffering': 'no' };
