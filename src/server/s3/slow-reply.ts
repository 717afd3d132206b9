/**
 * Replies to requests whose work can take longer than clients wait for a reply, such as joining the parts of a large
 * object. After a few seconds the server sends the head of a reply and then a space now and then. An error after that
 * is a document in a reply with status 200, as S3 has it for these operations.
 */
import { type Operation, sendXml } from './operation.ts';
import { XML_DECLARATION } from './xml-text.ts';

const PATIENCE_MS = 8000;

/** Errors before the first byte are thrown. */
export async function sendSlowXml(operation: Operation, work: () => Promise<string>): Promise<void> {
  const { response, errorText } = operation;
  let hasBegun = false;
  const timer = setInterval(() => {
    if (!hasBegun) response.writeHead(200, { 'content-type': 'application/xml' }).write(XML_DECLARATION);
    else response.write(' ');
    hasBegun = true;
  }, PATIENCE_MS);
  let xml: string;
  try {
    xml = await work();
  } catch (cause) {
    if (!hasBegun) throw cause;
    xml = errorText(cause);
  } finally {
    clearInterval(timer);
  }
  if (hasBegun) response.end(xml.slice(XML_DECLARATION.length));
  else sendXml(operation, xml);
}
