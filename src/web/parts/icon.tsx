/** ICONS: line drawings on a grid of 24, one path each. Adding an icon means adding a line. */
import type { VNode } from 'preact'

const ICONS = {
  alert:
    'M12 8v5m0 3.5v.01M10.3 3.9 2.6 17.2A2 2 0 0 0 4.3 20h15.4a2 2 0 0 0 1.7-2.8L13.7 3.9a2 2 0 0 0-3.4 0Z',
  back: 'm14 6-6 6 6 6',
  boards: 'M4 4h7v9H4zM13 4h7v5h-7zM13 11h7v9h-7zM4 15h7v5H4z',
  calendar:
    'M5 5h14a1 1 0 0 1 1 1v13a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1ZM4 10h16M8 3v4m8-4v4',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  chevron: 'm7 10 5 5 5-5',
  close: 'M6 6l12 12M18 6 6 18',
  cohorts: 'M9.5 15a6 6 0 1 0 0-12 6 6 0 0 0 0 12ZM14.5 21a6 6 0 1 0 0-12 6 6 0 0 0 0 12Z',
  copy: 'M9 9h10a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1ZM16 9V4a1 1 0 0 0-1-1H5a1 1 0 0 0-1 1v10a1 1 0 0 0 1 1h3',
  data: 'M4 6c0-4 16-4 16 0s-16 4-16 0v12c0 4 16 4 16 0V6M4 12c0 4 16 4 16 0',
  download: 'M12 4v11m-4.5-4.5L12 15l4.5-4.5M5 20h14',
  empty: 'M4 14h4l2 3h4l2-3h4M4 14l3-9h10l3 9v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-5Z',
  events: 'M4 7h2M4 12h2M4 17h2M10 7h10M10 12h10M10 17h10',
  experiments:
    'M9 3h6M10 3v6l-5.3 9.4A1.7 1.7 0 0 0 6.2 21h11.6a1.7 1.7 0 0 0 1.5-2.6L14 9V3M7.5 15h9',
  explore: 'M4 20V4M4 20h16M8 15l3.5-4 3 2.5L20 7',
  filter: 'M4 5h16l-6 8v5l-4 2v-7L4 5Z',
  flags: 'M5 21V4m0 0h11l-2 4 2 4H5',
  grip: 'M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01',
  help: 'M9.2 9a3 3 0 0 1 5.8 1c0 2-3 2.4-3 4.2m0 3.3v.01M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17',
  logout: 'M14 4h4a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2h-4M10 16l-4-4 4-4M6 12h9',
  menu: 'M4 7h16M4 12h16M4 17h16',
  more: 'M5.5 11.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1ZM12 11.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1ZM18.5 11.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1Z',
  next: 'm10 6 6 6-6 6',
  note: 'M5 4h14v11l-5 5H5V4ZM14 20v-5h5M9 9h6M9 13h3',
  persons:
    'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM2 21c0-4 3-6.5 7-6.5s7 2.5 7 6.5M16 3.5a4 4 0 0 1 0 7M18 15c2.5.8 4 3 4 6',
  plus: 'M12 5v14M5 12h14',
  resize: 'M19 9v10H9M19 19l-7-7',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM16 16l4.5 4.5',
  settings:
    'M4 7h9m4 0h3M4 17h3m4 0h9M15 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM9 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z',
  sql: 'm8 8-4 4 4 4m8-8 4 4-4 4m-2.5-11-3 14',
  start:
    'M5 19c1-4 3-9 9-13 2-1.3 4-2 6-2 0 2-.7 4-2 6-4 6-9 8-13 9Zm0 0 5-5M9 9H5l-2 4 4 .5M15 15v4l-4 2-.5-4',
  sun: 'M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM12 2v2m0 16v2M4.9 4.9l1.4 1.4m11.4 11.4 1.4 1.4M2 12h2m16 0h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z',
  system: 'M4 5h16a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1ZM9 20h6m-3-4v4',
  up: 'm7 14 5-5 5 5',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.5 20.5c.8-3.6 3.7-5.5 7.5-5.5s6.7 1.9 7.5 5.5',
  surveys:
    'M6 4h12a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1ZM8.5 9l1 1 1.8-2M14 9h2M8.5 15l1 1 1.8-2M14 15h2',
  switch: 'm8 9 4-4 4 4M8 15l4 4 4-4',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5m4-5v5',
  web: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM3 12h18M12 3c3 3 3.5 6 3.5 9s-.5 6-3.5 9c-3-3-3.5-6-3.5-9S9 6 12 3Z',
} as const

export type IconName = keyof typeof ICONS

type IconProps = {
  readonly name: IconName
  /** Width and height in px. */
  readonly size?: number
}

/** Draws an icon in the colour of its text. Screen readers skip it: they read the text beside it. */
export function Icon({ name, size = 18 }: IconProps): VNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.75"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={ICONS[name]} />
    </svg>
  )
}
