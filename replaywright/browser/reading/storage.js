/**
 * Storage of an origin: local storage and IndexedDB, in the form of Playwright's storage state.
 *
 * Not part of the agent. It is evaluated in the agent's world when a checkpoint is taken.
 */

/** Characters of all databases together, as JSON. */
const SIZE_LIMIT = 4000000;
/** A value of IndexedDB that JSON cannot hold; Playwright reads these forms when a storage state is put back. */
const ARRAYS = {i8: Int8Array, ui8: Uint8Array, ui8c: Uint8ClampedArray, i16: Int16Array, ui16: Uint16Array,
  i32: Int32Array, ui32: Uint32Array, f32: Float32Array, f64: Float64Array, bi64: BigInt64Array, bui64: BigUint64Array};

/** The value cannot be kept, such as a file or a key. */
class Unkept extends Error {}

const base64 = (view) => {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const pieces = [];
  for (let at = 0; at < bytes.length; at += 8192) pieces.push(String.fromCharCode(...bytes.subarray(at, at + 8192)));
  return btoa(pieces.join(""));
};

const isPlain = (value) => Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null;

const encoder = () => {
  const known = new Map();
  const encode = (value) => {
    switch (typeof value) {
      case "string": case "boolean": return value;
      case "undefined": return {v: "undefined"};
      case "bigint": return {bi: String(value)};
      case "number":
        if (Object.is(value, -0)) return {v: "-0"};
        return Number.isFinite(value) ? value : {v: String(value)};
    }
    if (value === null) return {v: "null"};
    if (value instanceof Date) return {d: value.toJSON()};
    if (value instanceof RegExp) return {r: {p: value.source, f: value.flags}};
    if (value instanceof Error) return {e: {n: value.name, m: value.message, s: value.stack || ""}};
    for (const [k, type] of Object.entries(ARRAYS)) if (value instanceof type) return {ta: {b: base64(value), k}};
    if (value instanceof ArrayBuffer) return {ab: {b: base64(new Uint8Array(value))}};
    if (known.has(value)) return {ref: known.get(value)};
    const id = known.size + 1;
    known.set(value, id);
    if (Array.isArray(value)) return {a: Array.from(value, encode), id};
    if (value instanceof Map) return {m: [...value].map(([k, v]) => ({k: encode(k), v: encode(v)})), id};
    if (value instanceof Set) return {s: [...value].map(encode), id};
    if (!isPlain(value)) throw new Unkept(Object.prototype.toString.call(value));
    return {o: Object.keys(value).map((k) => ({k, v: encode(value[k])})), id};
  };
  return encode;
};

const isTrivial = (value) => value === null || typeof value === "string" || typeof value === "boolean"
  || (typeof value === "number" && Number.isFinite(value) && !Object.is(value, -0))
  || (typeof value === "object" && (Array.isArray(value) || isPlain(value)) && Object.values(value).every(isTrivial));

/** `isTrivial`, for a value that may refer to itself. */
const isJson = (value) => {
  try { return isTrivial(value); } catch (error) { return false; }
};

const resultOf = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
  request.onblocked = () => reject(new Error("blocked"));
});

const pathsOf = (keyPath) => Array.isArray(keyPath) ? {keyPathArray: keyPath} : keyPath === null ? {} : {keyPath};

async function storeOf(store) {
  const [keys, values] = await Promise.all([resultOf(store.getAllKeys()), resultOf(store.getAll())]);
  const records = values.map((value, index) => {
    const record = {};
    if (store.keyPath === null) {
      if (isJson(keys[index])) record.key = keys[index]; else record.keyEncoded = encoder()(keys[index]);
    }
    if (isJson(value)) record.value = value; else record.valueEncoded = encoder()(value);
    return record;
  });
  const indexes = [...store.indexNames].map((name) => store.index(name)).map((index) =>
    ({name: index.name, multiEntry: index.multiEntry, unique: index.unique, ...pathsOf(index.keyPath)}));
  return {name: store.name, records, indexes, autoIncrement: store.autoIncrement, ...pathsOf(store.keyPath)};
}

async function databaseOf(name, version) {
  const database = await resultOf(indexedDB.open(name, version));
  database.onversionchange = () => database.close();
  try {
    const names = [...database.objectStoreNames];
    const transaction = names.length ? database.transaction(names, "readonly") : null;
    return {name, version, stores: await Promise.all(names.map((store) => storeOf(transaction.objectStore(store))))};
  } finally {
    database.close();
  }
}

/** Storage of this document's origin, and a list of what is left out. */
async function stored() {
  const leftOut = [], local = [], databases = [], scroll = [scrollX, scrollY];
  let size = 0;
  try {
    for (let index = 0; index < localStorage.length; index++) {
      const name = localStorage.key(index);
      local.push({name, value: localStorage.getItem(name)});
    }
    for (const {name, version} of await indexedDB.databases()) {
      try {
        const database = await databaseOf(name, version);
        size += JSON.stringify(database).length;
        if (size > SIZE_LIMIT) throw new Unkept("it is too large");
        databases.push(database);
      } catch (error) {
        leftOut.push(`IndexedDB ${name}: ${error && error.message}`);
      }
    }
  } catch (error) {  // of a document that may store nothing: sandboxed, or of no origin
    leftOut.push(`storage: ${error && error.message}`);
  }
  return {origin: {origin: location.origin, localStorage: local, indexedDB: databases}, leftOut, scroll};
}
