// The page's packed blocks: base64 of gzip of JSON, unpacked when first asked for.

const unpacked = new Map();

async function unpack(id) {
  if (!unpacked.has(id)) unpacked.set(id, inflate(document.getElementById(id).textContent));
  return unpacked.get(id);
}

async function inflate(base64) {
  const bytes = Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// Paths of a chunk, their texts put back where {"$": place} stands for them.
async function pathAt([chunk, place]) {
  const { texts, paths } = await unpack(`chunk-${chunk}`);
  const whole = (value) => {
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return value.map(whole);
    if (Object.keys(value).length === 1 && Number.isInteger(value.$)) return texts[value.$];
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, whole(inner)]));
  };
  return whole(paths[place]);
}

// An element with text or elements inside: the only way that words come onto the page.
function make(tag, attributes = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.filter((one) => one !== null && one !== undefined));
  return element;
}

const words = (name) => String(name ?? "").replaceAll("_", " ");
const position = (bucket) => (bucket === "none" ? "absent" : bucket);
