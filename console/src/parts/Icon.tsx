/** Line icons, drawn in the color of the text. They are decoration: names stand beside them. */
const PATHS = {
  chat: "M4 5h16v11H9l-5 4z",
  approvals: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm-4 9 3 3 5-6",
  connect: "M9 3v5m6-5v5M6 8h12v3a6 6 0 0 1-12 0zm6 9v4",
  metrics: "M4 4v16h16M8 16v-5m4 5V7m4 9v-3",
  settings: "M4 7h10m4 0h2M4 17h2m4 0h10M16 5v4M8 15v4",
  plus: "M12 5v14M5 12h14",
  send: "M12 19V5m-6 6 6-6 6 6",
  stop: "M7 7h10v10H7z",
  attach: "m20 11-8.5 8.5a5 5 0 0 1-7-7L13 4a3.3 3.3 0 0 1 4.7 4.7l-8.5 8.5a1.7 1.7 0 0 1-2.4-2.4L14.500 7",
  tool: "M14.500 6.500a4 4 0 0 0-5.300 5.300L4 17l3 3 5.200-5.200a4 4 0 0 0 5.300-5.300L15 12l-3-3z",
  shield: "M12 3 5 6v5c0 5 3 8 7 10 4-2 7-5 7-10V6z",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  down: "M12 5v14m-6-6 6 6 6-6",
  close: "m6 6 12 12M18 6 6 18",
  right: "m9 6 6 6-6 6",
  left: "m15 6-6 6 6 6",
  check: "m5 12 5 5 9-10",
  minus: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  pin: "M9 4h6l-1 6 4 4H6l4-4zM12 14v6",
  cases: "M5 4h14v16H5zM8.500 9l1.500 1.500L13 7.500M8.500 15l1.500 1.500L13 13.500M15.500 9.500h1M15.500 15.500h1",
  flow: "M4 4h6v5H4zM14 15h6v5h-6zM7 9v8.500h7",
  plugin: "m12 3 8 4.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9",
  list: "M4 6h16M4 12h11M4 18h7",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zm5 12 4.500 4.500",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  again: "M19 12a7 7 0 1 1-2.100-5M19 3v5h-5",
  archive: "M4 5h16v4H4zM6 9v10h12V9M10 13h4",
  trash: "M5 7h14M10 4h4M7 7l1 13h8l1-13M10 11v5M14 11v5",
  timeline: "M4 6h9M8 12h12M6 18h8",
  run: "M8 5v14l11-7z",
  model: "M12 4l1.800 6.200L20 12l-6.200 1.800L12 20l-1.800-6.200L4 12l6.200-1.800z",
  step: "M5 12h13m-5-5 5 5-5 5",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zm0 4v4l3 2",
  health: "M3 12h4l3-7 4 14 3-7h4",
  usage: "M4 17a8 8 0 1 1 16 0M12 17l4-5M4 20h16",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  key: "M15 4a5 5 0 1 0 0 10 5 5 0 0 0 0-10zm-3.500 8.500L4 20m3-3 2.500 2.500",
  thumbUp:
    "M4 11h3.500v9H4zM7.500 11l4-7c1.800 0 2.800 1.300 2.400 3l-.700 3H18a2 2 0 0 1 2 2.400l-1.200 6a2 2 0 0 1-2 1.600H7.500",
  thumbDown:
    "M4 13h3.500V4H4zM7.500 13l4 7c1.800 0 2.800-1.300 2.400-3l-.700-3H18a2 2 0 0 0 2-2.400l-1.200-6a2 2 0 0 0-2-1.600H7.500",
  eye: "M3 12c3-5 6-7 9-7s6 2 9 7c-3 5-6 7-9 7s-6-2-9-7zm9-3a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
