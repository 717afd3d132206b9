/** The main heading of a screen about an address. A very long address is shortened; its tooltip has all of it. */
import { shortened } from '../app/wording.ts';

const LONG_LENGTH = 100;
const LENGTH_MAX = 300;

export function AddressTitle({ kicker, address }: { kicker: string; address: string }) {
  return (
    <>
      <p class="kicker">{kicker}</p>
      <h1
        class={address.length > LONG_LENGTH ? 'url-title long' : 'url-title'}
        title={address.length > LENGTH_MAX ? address : undefined}
      >
        <bdi dir="ltr">{shortened(address, LENGTH_MAX)}</bdi>
      </h1>
    </>
  );
}
