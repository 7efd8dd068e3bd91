// HyperAgent: its agent does the task once with a model; `runFromActionCache` replays the actions that it kept.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { given, now, serve } from "./channel.mjs";

const require = createRequire(join(process.env.BENCH_ENVIRONMENT, "package.json"));
const { HyperAgent } = require("@hyperbrowser/agent");
const { chromium } = createRequire(require.resolve("@hyperbrowser/agent"))("playwright-core");

// Its local provider starts a Chrome with a window, whatever it is told: this one takes the browser that is there.
const provider = (endpoint) => ({
  async start() {
    return (this.browser = await chromium.connectOverCDP(endpoint));
  },
  async close() {
    await this.browser.close();
  },
  getSession() {
    return this.browser;
  },
});

async function withAgent(endpoint, use) {
  const llm = { provider: "openai", model: "stand-in", apiKey: "stand-in", baseURL: given.base_url };
  const agent = new HyperAgent({ llm, browserProvider: "Local" });
  agent.browserProvider = provider(endpoint);
  try {
    return await use(agent, await agent.newPage());
  } finally {
    await agent.closeAgent();
  }
}

const kept = join(given.state, "cache.json");

serve({
  learn: (endpoint) =>
    withAgent(endpoint, async (agent, page) => {
      const result = await agent.executeTask(given.goal, { maxSteps: given.steps.length + 2 }, page);
      if (result.status !== "completed") throw new Error(`the task ended ${result.status}: ${result.output}`);
      writeFileSync(kept, JSON.stringify(result.actionCache));
    }),
  replay: (endpoint) =>
    withAgent(endpoint, async (agent, page) => {
      const cache = JSON.parse(readFileSync(kept, "utf8"));
      const begun = now();
      const result = await agent.runFromActionCache(cache, page);
      const ended = now();
      if (result.status !== "completed") throw new Error(`the replay ended ${result.status}`);
      return { begun, ended };
    }),
});
