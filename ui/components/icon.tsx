/** Small pictures next to words, or in buttons with an accessible name. Screen readers ignore them. */
const PATHS = {
  search: 'M10.5 3.5a7 7 0 1 0 4.4 12.4l4.9 4.9 1.4-1.4-4.9-4.9a7 7 0 0 0-5.8-11zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10z',
  left: 'M15.4 5.4 8.8 12l6.6 6.6-1.4 1.4-8-8 8-8z',
  right: 'M8.6 5.4 15.2 12l-6.6 6.6L10 20l8-8-8-8z',
  calendar: 'M7 2h2v2h6V2h2v2h4v17H3V4h4zm12 8H5v9h14zm0-4H5v2h14z',
  close: 'M6.4 5 12 10.6 17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.6L6.4 19 5 17.6l5.6-5.6L5 6.4z',
  sun: 'M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zm-1-5h2v3h-2zm0 17h2v3h-2zM2 11h3v2H2zm17 0h3v2h-3zM4.2 5.6l1.4-1.4 2.1 2.1-1.4 1.4zm12.1 12.1 1.4-1.4 2.1 2.1-1.4 1.4zM4.2 18.4l2.1-2.1 1.4 1.4-2.1 2.1zM16.3 6.3l2.1-2.1 1.4 1.4-2.1 2.1z',
  moon: 'M10.5 3.1a7.8 7.8 0 0 0 10.4 10.4A9.2 9.2 0 1 1 10.5 3.1z',
  half: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2v14a7 7 0 0 1 0-14z',
  changed: 'M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16z',
  same: 'M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16zm0 2a6 6 0 1 0 0 12 6 6 0 0 0 0-12z',
  check: 'm9.5 17.6-5.6-5.7 1.4-1.4 4.2 4.2 9-9 1.4 1.4z',
  wrong: 'M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zm-1 4v7h2V7zm0 8.5v2h2v-2z',
  stop: 'M6 6h12v12H6z',
  wait: 'M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zm0 2a7 7 0 1 0 0 14 7 7 0 0 0 0-14zm-1 2h2v4.6l3 3-1.4 1.4-3.6-3.6z',
  down: 'M11 3h2v9.2l3.3-3.3 1.4 1.4L12 16l-5.7-5.7 1.4-1.4 3.3 3.3zM4 18h16v2H4z',
  up: 'M12 4l5.7 5.7-1.4 1.4L13 7.8V17h-2V7.8L7.7 11.1 6.3 9.7zM4 18h16v2H4z',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
