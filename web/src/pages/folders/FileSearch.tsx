import { Button, TextInput } from "@mantine/core";
import { useState, type SyntheticEvent } from "react";
import { useLocation } from "wouter";
import { Row } from "../../ui/layout";
import { filePage } from "./folders";

/** FileSearch leads to the page about a file: whether each device has it, and why not. */
export function FileSearch({ folder, path = "" }: { folder: string; path?: string }) {
  const [, navigate] = useLocation();
  const [typed, setTyped] = useState(path);
  const name = typed.trim().replace(/^\/+/, "");
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (name !== "") navigate(filePage(folder, name));
  };
  return (
    <form onSubmit={submit}>
      <Row>
        <TextInput
          w={320}
          aria-label="Path of a file in this folder"
          placeholder="reports/2026.ods"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Button type="submit" variant="default">
          Why is this file not there?
        </Button>
      </Row>
    </form>
  );
}
