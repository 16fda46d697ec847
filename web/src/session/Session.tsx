import { Modal } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore, type ReactNode } from "react";
import { queries } from "../api/queries";
import { Ghosts, Wrong } from "../ui/page";
import { Mark } from "../ui/mark";
import { gate, openGate } from "./gate";
import { half } from "./half";
import { LogIn } from "./LogIn";

/**
 * Session shows the console to a person who is logged in. Where the session ends later, the log-in comes in front of
 * the page, which stays as it is: what was typed is not lost, and what was sent goes out after the log-in.
 */
export function Session({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const me = useQuery(queries.whoami());
  const open = useSyncExternalStore(gate.subscribe, gate.isOpen);
  const name = me.data?.name ?? "";

  const entered = (user: string) => {
    if (name !== "" && user !== "" && user.toLowerCase() !== name.toLowerCase()) {
      location.reload(); // another person: nothing of the former one's page stays
      return;
    }
    openGate();
    void client.invalidateQueries({ queryKey: ["whoami"] });
  };

  useEffect(
    () =>
      half.onOtherTab(() => {
        if (gate.isOpen()) return;
        openGate();
        void client.invalidateQueries({ queryKey: ["whoami"] });
      }),
    [client],
  );

  if (!me.data && !open) {
    return (
      <div className="u-login">
        <main className="u-login-card u-stack">
          <div className="u-brand">
            <Mark size={28} />
            Muster
          </div>
          <h1 className="u-heading">Log in</h1>
          <LogIn name="" again={false} onDone={entered} />
        </main>
      </div>
    );
  }
  if (!me.data) {
    return (
      <div className="u-login">
        <main className="u-login-card">
          <h1 className="u-skip">Muster</h1>
          {me.error ? <Wrong error={me.error} retry={() => void me.refetch()} /> : <Ghosts />}
        </main>
      </div>
    );
  }
  return (
    <>
      {children}
      <Modal
        opened={!open}
        onClose={() => undefined}
        withCloseButton={false}
        closeOnEscape={false}
        closeOnClickOutside={false}
        title="Your session has ended"
        zIndex={1000}
      >
        <div className="u-stack">
          <span className="u-muted">Log in to go on. What you typed stays, and what you sent goes out then.</span>
          <LogIn name={name} again onDone={entered} />
        </div>
      </Modal>
    </>
  );
}
