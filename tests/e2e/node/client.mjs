// The official TypeScript client: `node client.mjs GIVEN`, where GIVEN is JSON with the server and the calls.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const given = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(`${given.packages}/`);
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport(given.server));
const told = { tools: (await client.listTools()).tools.map((tool) => tool.name), progress: [], results: [] };
for (const [name, args] of given.calls) {
  const onprogress = (progress) => told.progress.push(progress.progress);
  const options = { onprogress, resetTimeoutOnProgress: true, timeout: 60000, maxTotalTimeout: 300000 };
  told.results.push(await client.callTool({ name, arguments: args }, undefined, options));
}
const [report] = told.results.at(-1).content.filter((content) => content.type === "resource_link");
const { contents } = await client.readResource({ uri: report.uri });
told.report = contents[0].text.slice(0, 15);
await client.close();
console.log(JSON.stringify(told));
