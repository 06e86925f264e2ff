// Ports of 127.0.0.1: free ones, those of our own servers, and those that a server which runs already was told.
import net from "node:net";

export function listen(server, port = 0, host = "127.0.0.1") {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve(server.address().port));
  });
}

export async function freePort() {
  const probe = net.createServer();
  const port = await listen(probe);
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

export function answers(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => { socket.destroy(); resolve(true); });
    socket.on("error", () => resolve(false));
  });
}

/** With --url: where the judged server looks for a fake, which is started there. */
export function portOf(variable) {
  const value = process.env[variable];
  if (!value) throw new Error(`with --url, ${variable} must say where the judged server looks for that fake; it is started there`);
  return Number(new URL(value).port);
}
