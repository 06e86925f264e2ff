/** The shared worker: one hub for all tabs of a browser. */
import { LiveHub } from "./hub";
import type { FromTab } from "./protocol";

const hub = new LiveHub();

addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0];
  if (port) port.onmessage = ({ data }: MessageEvent<FromTab>) => hub.receive(port, data);
});
