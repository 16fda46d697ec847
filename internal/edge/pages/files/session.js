// The session of a browser has two halves: the cookie, which no script reads, and a secret that this origin keeps. This
// script gets the second half by the code of the page, and shows who is logged in.
const kept = "muster-session";
const page = document.querySelector("main");
const root = new URL(page.dataset.root, location.href);
const half = stored();

const open = (path) => location.replace(new URL(path, root));
const show = (id) => { document.getElementById(id).hidden = false; };

// stored is blank where the browser keeps nothing for this origin.
function stored() {
  try {
    return localStorage.getItem(kept) ?? "";
  } catch {
    return "";
  }
}

async function exchange(code) {
  const answer = await fetch(new URL("api/v1/login/code", root), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (!answer.ok) return show("failed");
  localStorage.setItem(kept, (await answer.json()).half);
  open("ui/");
}

async function whoami() {
  const answer = await fetch(new URL("api/v1/whoami", root), { headers: { "Muster-Session": half } });
  if (answer.status === 401) localStorage.removeItem(kept);
  return answer.ok ? answer.json() : undefined;
}

async function home() {
  const who = await whoami();
  if (!who) return open("ui/login");
  document.getElementById("user").textContent = who.name;
  document.getElementById("role").textContent = who.role;
  show("home");
}

async function begin() {
  const { kind, code } = page.dataset;
  if (kind === "entered") await exchange(code);
  if (kind === "home") await home();
  if (kind === "login" && half !== "" && await whoami()) open("ui/");
  if (kind === "out") localStorage.removeItem(kept);
}

begin().catch(() => {
  if (page.dataset.kind === "entered") show("failed");
});
