import { Autocomplete, Select } from "@mantine/core";
import { useState } from "react";
import { Columns } from "../../ui/layout";
import type { Draft } from "./draft";
import { recipes } from "./recipes";

/** StartFrom fills a new template with a recipe. The tag that one picks goes to its tags and into its program. */
export function StartFrom({
  tags,
  draft,
  onStart,
}: {
  tags: string[];
  draft: Draft;
  onStart: (part: Partial<Draft>) => void;
}) {
  const [name, setName] = useState<string | null>(null);
  const [tag, setTag] = useState("");
  const start = (chosen: string | null, picked: string) => {
    const recipe = recipes.find((one) => one.name === chosen);
    const was = recipes.find((one) => one.name === name)?.template(tag);
    setName(chosen);
    setTag(picked);
    // A text that was edited stays where only the tag changes.
    if (!recipe || (chosen === name && draft.template !== was)) return;
    const { label, op, key } = recipe;
    onStart({ label, op, key, template: recipe.template(picked), tags: picked === "" ? [] : [picked] });
  };
  return (
    <Columns>
      <Select
        size="xs"
        label="Start from"
        placeholder="A recipe, or write your own"
        data={recipes.map((recipe) => recipe.name)}
        value={name}
        onChange={(chosen) => start(chosen, tag)}
      />
      {name !== null && (
        <Autocomplete
          size="xs"
          label="For devices with the tag"
          data={tags}
          limit={20}
          value={tag}
          maxLength={128}
          onChange={(picked) => start(name, picked)}
        />
      )}
    </Columns>
  );
}
