// Stagehand 3: each step is an `act` with a cache folder; the first one asks the model, later ones replay what it chose.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { given, now, serve } from "./channel.mjs";

const require = createRequire(join(process.env.BENCH_ENVIRONMENT, "package.json"));
const { Stagehand } = await import(pathToFileURL(require.resolve("@browserbasehq/stagehand")).href);

// A click returns before what it led to: the browser must not be closed under it. This is not in the time that is told.
async function followed(page) {
  const deadline = now() + 5;
  while (!page.url().includes("/sent") && now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function through(endpoint) {
  const { webSocketDebuggerUrl } = await (await fetch(`${endpoint}/json/version`)).json();
  const stagehand = new Stagehand({
    env: "LOCAL",
    localBrowserLaunchOptions: { cdpUrl: webSocketDebuggerUrl, viewport: { width: 1280, height: 900 } },
    cacheDir: join(given.state, "cache"),
    model: { modelName: "gpt-4o", apiKey: "stand-in", baseURL: given.base_url },
    verbose: 0,
    disablePino: true,
    disableAPI: true,
  });
  await stagehand.init();
  try {
    const page = stagehand.context.pages()[0] ?? (await stagehand.context.newPage());
    const begun = now();
    for (const step of given.steps) {
      if (step.action === "goto") {
        await page.goto(step.url, { waitUntil: "domcontentloaded" });
        continue;
      }
      const variables = step.value === null ? undefined : { value: step.value };
      const done = await stagehand.act(step.sentence, { page, variables });
      if (!done.success) throw new Error(`${step.sentence}: ${done.message}`);
    }
    const ended = now();
    await followed(page);
    return { begun, ended };
  } finally {
    await stagehand.close({ force: true });
  }
}

serve({ learn: through, replay: through });
