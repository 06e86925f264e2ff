// A page's WebSocket: Phoenix frames `[join_ref, ref, topic, event, payload]`, as CopilotKit's client sends them.
import crypto from "node:crypto";
import http from "node:http";
import { until } from "../../_lib/expect.mjs";

/** A WebSocket without a package: node 20 has none of its own. Text frames alone, masked as clients have to. */
export class Socket {
  frames = []; state = "opening"; ref = 0; #rest = Buffer.alloc(0);

  static async open(wsUrl, token, headers = {}) {
    const socket = new Socket(), url = new URL(`${wsUrl}/websocket?join_token=${encodeURIComponent(token)}&vsn=2.0.0`);
    url.protocol = "http:";
    const request = http.request(url, { headers: { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": crypto.randomBytes(16).toString("base64"), ...headers } });
    request.on("upgrade", (_, connection, head) => socket.#begin(connection, head));
    request.on("response", (response) => { socket.status = response.statusCode; socket.state = "refused"; response.resume(); });
    request.on("error", () => { socket.state = "refused"; });
    request.end();
    await until(() => socket.state !== "opening", "the socket to open or to be refused", { timeout: 15_000 });
    return socket;
  }

  #begin(connection, head) {
    this.state = "open"; this.connection = connection;
    connection.on("data", (data) => this.#read(data));
    connection.on("close", () => { this.state = "closed"; });
    connection.on("error", () => { this.state = "closed"; });
    this.#read(head);
  }

  #read(data) {
    this.#rest = Buffer.concat([this.#rest, data]);
    for (;;) {
      const rest = this.#rest;
      if (rest.length < 2) return;
      const short = rest[1] & 127, at = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (rest.length < at) return;
      const length = short === 126 ? rest.readUInt16BE(2) : short === 127 ? Number(rest.readBigUInt64BE(2)) : short;
      if (rest.length < at + length) return;
      if ((rest[0] & 15) === 1) this.frames.push(JSON.parse(rest.subarray(at, at + length)));
      if ((rest[0] & 15) === 8) this.state = "closed";
      this.#rest = rest.subarray(at + length);
    }
  }

  send(frame) {
    const text = Buffer.from(typeof frame === "string" ? frame : JSON.stringify(frame)), mask = crypto.randomBytes(4), head = Buffer.alloc(text.length < 126 ? 2 : text.length < 65_536 ? 4 : 10);
    head[0] = 0x81;
    if (text.length < 126) head[1] = 0x80 | text.length;
    else if (text.length < 65_536) { head[1] = 0x80 | 126; head.writeUInt16BE(text.length, 2); }
    else { head[1] = 0x80 | 127; head.writeBigUInt64BE(BigInt(text.length), 2); }
    this.connection.write(Buffer.concat([head, mask, text.map((byte, index) => byte ^ mask[index % 4])]));
  }

  async push(topic, event) {
    const ref = String(++this.ref);
    this.send([ref, ref, topic, event, {}]);
    await until(() => this.state !== "open" || this.frames.some((frame) => frame[1] === ref), `a reply to ${event}`, { timeout: 15_000 });
    return this.frames.find((frame) => frame[1] === ref)?.[4]?.status ?? "closed";
  }

  events(name) { return this.frames.filter((frame) => frame[3] === name).map((frame) => frame[4]); }
  close() { this.connection?.destroy(); }
}
