import { Checkbox } from "@mantine/core";

/** AlsoMajor asks whether an upgrade may lead to another major version; running says which versions the devices run. */
export function AlsoMajor({
  major,
  onChange,
  running = "",
}: {
  major: boolean;
  onChange: (major: boolean) => void;
  running?: string;
}) {
  return (
    <Checkbox
      size="xs"
      label="Also to another major version"
      description={`Without it, an upgrade from 1.x to 2.x fails. ${running}`}
      checked={major}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}

/** AllCopies asks whether an order may restart every device that is proven to have data of which a policy asks for copies. */
export function AllCopies({ allCopies, onChange }: { allCopies: boolean; onChange: (allCopies: boolean) => void }) {
  return (
    <Checkbox
      size="xs"
      label="Also where it restarts every proven copy of a folder"
      description="Without it, the order is refused where a policy asks for copies and no other device is proven to have the data."
      checked={allCopies}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}

/** GoOn asks whether an order goes on with the other devices where it fails on one. */
export function GoOn({ goOn, onChange }: { goOn: boolean; onChange: (goOn: boolean) => void }) {
  return (
    <Checkbox
      size="xs"
      label="Go on with the others where it fails"
      description={
        goOn
          ? "It ends with the last device, and lists those on which it failed."
          : "It ends at the first device on which it fails: those after it are told nothing."
      }
      checked={goOn}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}
