// What a page may try with another origin. Both functions are called by the tests.
"use strict";

const patience = 20000; // milliseconds, for what never answers

// loaded tells whether an element loads what it points to.
function loaded(element, url) {
  return new Promise((resolve) => {
    element.onload = () => resolve("loaded");
    element.onerror = () => resolve("");
    element.src = url;
    document.body.append(element);
  });
}

const ways = {
  fetch: (url) => fetch(url, { credentials: "include" }).then((r) => r.text()),
  fetchWithHeader: (url) => fetch(url, { credentials: "include", headers: { "X-Attack": "1" } }).then((r) => r.text()),
  opaque: (url) => fetch(url, { credentials: "include", mode: "no-cors" }).then((r) => r.text()),
  image: (url) => loaded(new Image(), url),
  script: (url) => loaded(document.createElement("script"), url),
  frame: async (url) => {
    const frame = document.createElement("iframe");
    await loaded(frame, url);
    return frame.contentDocument?.body?.innerText;
  },
  events: (url) =>
    new Promise((resolve) => {
      const stream = new EventSource(url, { withCredentials: true });
      const end = (text) => { stream.close(); resolve(text); };
      stream.onopen = () => end("open");
      stream.onerror = () => end("");
    }),
  socket: (url) =>
    new Promise((resolve) => {
      const socket = new WebSocket(url.replace(/^http/, "ws"));
      socket.onopen = () => { socket.close(); resolve("open"); };
      socket.onerror = () => resolve("");
    }),
};

// read gives what could be read of some paths, by way and path.
async function read(origin, paths) {
  const found = {};
  await Promise.all(paths.flatMap((path) => Object.entries(ways).map(async ([way, of]) => {
    const late = new Promise((resolve) => setTimeout(resolve, patience, ""));
    const text = await Promise.race([of(origin + path), late]).catch(() => "");
    if (text) found[way + " " + path] = String(text).slice(0, 300);
  })));
  return found;
}

// change sends every write in every way that a browser knows.
async function change(origin, writes) {
  for (const { method, path, body } of writes) {
    const url = origin + path;
    const json = { "Content-Type": "application/json" };
    const tries = [
      fetch(url, { method, body, credentials: "include", headers: json }),
      fetch(url, { method, body, credentials: "include" }),
    ];
    if (method === "POST") {
      tries.push(fetch(url, { method, body, credentials: "include", mode: "no-cors" }));
      navigator.sendBeacon(url, new Blob([body], { type: "text/plain" }));
      tries.push(post(url, body, "text/plain"), post(url, body, "application/x-www-form-urlencoded"));
    }
    await Promise.allSettled(tries);
  }
  return writes.length;
}

// post sends a form into a frame. As plain text, its one field is the body.
function post(url, body, type) {
  const frame = document.createElement("iframe");
  frame.name = "frame" + document.forms.length + Math.random();
  const form = document.createElement("form");
  form.method = "post";
  form.action = url;
  form.enctype = type;
  form.target = frame.name;
  const fields = type === "text/plain" ? [[body.slice(0, -1), body.slice(-1)]] : new URLSearchParams(body);
  for (const [name, value] of fields) {
    const field = document.createElement("input");
    field.name = name;
    field.value = value;
    form.append(field);
  }
  const sent = new Promise((resolve) => { setTimeout(resolve, patience); frame.onload = () => resolve(); });
  document.body.append(frame, form);
  form.submit();
  return sent;
}
