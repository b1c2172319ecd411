/** A page that shows /openapi.json; it loads nothing from anywhere else. */
export const docsPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Drover API</title>
<style>
  :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
  body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  h2 { margin-top: 2rem; text-transform: capitalize; }
  details { border: 1px solid color-mix(in srgb, currentColor 20%, transparent); border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem; }
  summary { cursor: pointer; }
  code, pre { font: 13px/1.5 ui-monospace, monospace; }
  pre { overflow: auto; max-height: 30rem; padding: .6rem; background: color-mix(in srgb, currentColor 7%, transparent); border-radius: 4px; }
  .method { display: inline-block; min-width: 4rem; font-weight: 600; text-transform: uppercase; }
  .summary { opacity: .75; }
</style>
<body>
<h1>Drover API</h1>
<p>Send <code>Authorization: Bearer &lt;token&gt;</code>. The machine-readable description is <a href="/openapi.json">/openapi.json</a>.</p>
<main id="routes">Loading…</main>
<script>
const make = (tag, text, name) => { const made = document.createElement(tag); if (text) made.textContent = text; if (name) made.className = name; return made; };
const section = (into, title, value) => { if (value === undefined) return; into.append(make("h4", title), make("pre", JSON.stringify(value, null, 2))); };
const operation = (method, path, op) => {
  const box = make("details");
  const head = make("summary");
  head.append(make("span", method, "method"), make("code", path), make("span", " " + (op.summary ?? ""), "summary"));
  box.append(head);
  section(box, "Parameters", op.parameters);
  section(box, "Body", op.requestBody?.content?.["application/json"]?.schema);
  for (const [status, answer] of Object.entries(op.responses ?? {}))
    section(box, status + " " + answer.description, Object.values(answer.content ?? {})[0]?.schema);
  return box;
};
fetch("/openapi.json").then((answer) => answer.json()).then((api) => {
  const routes = document.getElementById("routes");
  routes.textContent = "";
  for (const { name } of api.tags) {
    routes.append(make("h2", name));
    for (const [path, methods] of Object.entries(api.paths))
      for (const [method, op] of Object.entries(methods))
        if (op.tags?.includes(name)) routes.append(operation(method, path, op));
  }
  routes.append(make("h2", "schemas"));
  for (const [name, schema] of Object.entries(api.components.schemas ?? {})) {
    const box = make("details");
    box.append(make("summary", name), make("pre", JSON.stringify(schema, null, 2)));
    routes.append(box);
  }
}).catch(() => { document.getElementById("routes").textContent = "The description could not be loaded."; });
</script>
</body>
</html>
`;
