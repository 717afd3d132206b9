/** The main heading of a screen about an address. A very long address is shortened; its tooltip has all of it. */
import { shortened } from '../app/wording.ts';

const LONG = 100;
const MOST = 300;

export function AddressTitle({ kicker, address }: { kicker: string; address: string }) {
  return (
    <>
      <p class="kicker">{kicker}</p>
      <h1
        class={address.length > LONG ? 'url-title long' : 'url-title'}
        title={address.length > MOST ? address : undefined}
      >
        <bdi dir="ltr">{shortened(address, MOST)}</bdi>
      </h1>
    </>
  );
}
