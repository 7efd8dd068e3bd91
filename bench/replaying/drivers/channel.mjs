// The bench's end of a line: JSON objects, one a line, over TCP. `serve({learn, replay})` answers until it is closed.
import { connect } from "node:net";
import { createInterface } from "node:readline";

export function serve(does) {
  const socket = connect(Number(process.env.BENCH_PORT), "127.0.0.1");
  const answer = (told) => socket.write(`${JSON.stringify(told)}\n`);
  answer({ hello: process.env.BENCH_NAME });
  createInterface({ input: socket }).on("line", async (line) => {
    const { order, endpoint } = JSON.parse(line);
    try {
      answer((await does[order](endpoint)) ?? {});
    } catch (error) {
      console.error(error);
      answer({ failed: String(error).slice(0, 600) });
    }
  });
  socket.on("close", () => process.exit(0));
}

export const given = JSON.parse(process.env.BENCH_GIVEN);

// Seconds since the epoch, as Python's time.time() tells them.
export const now = () => (performance.timeOrigin + performance.now()) / 1000;
