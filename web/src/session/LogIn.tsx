import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { api, ask, root } from "../api/client";
import { Wrong } from "../ui/page";
import { half } from "./half";

const readAgainAfter = 10_000; // ms; a provider that is away comes back

/** LogIn asks for name and password, or leads to the provider of single sign-on. */
export function LogIn({ name, again, onDone }: { name: string; again: boolean; onDone: (user: string) => void }) {
  const methods = useQuery({
    queryKey: ["login"],
    queryFn: ({ signal }) => ask(api.GET("/api/v1/login", { signal })),
    refetchInterval: readAgainAfter,
  });
  const [userid, setUserid] = useState(name);
  const [password, setPassword] = useState("");
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);

  const submit = async (event: SyntheticEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const session = await ask(api.POST("/api/v1/login", { body: { userid, password, browser: true } }));
      half.keep(session.half);
      setPassword("");
      onDone(userid);
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };

  const provider = methods.data?.singleSignOn;
  return (
    <form className="u-form" onSubmit={(event) => void submit(event)}>
      {error !== undefined && <Wrong error={error} />}
      {provider && (
        <>
          <Button
            component="a"
            size="sm"
            href={`${root}${provider.path}`}
            target={again ? "_blank" : undefined}
            rel="opener"
          >
            Log in with {provider.name}
          </Button>
          {provider.away && (
            <span role="status">
              {provider.name} does not answer at this moment: log in with a password meanwhile, or try again later.
            </span>
          )}
          {again && (
            <Button variant="default" onClick={() => onDone("")}>
              I have logged in there
            </Button>
          )}
          <span className="u-faint">or with a password</span>
        </>
      )}
      <TextInput
        label="User name"
        name="userid"
        value={userid}
        onChange={(event) => setUserid(event.currentTarget.value)}
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        required
        withAsterisk={false}
        size="sm"
        data-autofocus={name === "" || undefined}
        autoFocus={name === ""}
      />
      <PasswordInput
        label="Password"
        name="password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="current-password"
        required
        withAsterisk={false}
        size="sm"
        data-autofocus={name !== "" || undefined}
        autoFocus={name !== ""}
      />
      <Button type="submit" size="sm" loading={busy} variant={provider ? "default" : "filled"}>
        Log in
      </Button>
      <span className="u-faint">
        No user yet, or the password forgotten? Type <span className="u-inline-code">muster login-link</span> on the
        server’s machine, or ask an administrator for a log-in link.
      </span>
      <a className="u-link" href="../docs/">
        Manual
      </a>
    </form>
  );
}
