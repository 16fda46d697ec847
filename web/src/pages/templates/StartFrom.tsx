import { Autocomplete, Select } from "@mantine/core";
import { useState } from "react";
import { Columns } from "../../ui/layout";
import type { Draft } from "./draft";
import { recipes, withTag } from "./recipes";

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
  const recipeOf = (chosen: string | null) => recipes.find((one) => one.name === chosen);
  const start = (chosen: string | null) => {
    const recipe = recipeOf(chosen);
    setName(chosen);
    if (!recipe || chosen === name) return;
    const { label, op, key } = recipe;
    onStart({ label, op, key, template: recipe.template(tag), tags: tag === "" ? [] : [tag] });
  };
  const pick = (picked: string) => {
    const recipe = recipeOf(name);
    setTag(picked);
    if (recipe) onStart(withTag(recipe, draft, tag, picked));
  };
  return (
    <Columns>
      <Select
        size="xs"
        label="Start from"
        placeholder="A recipe, or write your own"
        data={recipes.map((recipe) => recipe.name)}
        value={name}
        onChange={start}
      />
      {name !== null && (
        <Autocomplete
          size="xs"
          label="For devices with the tag"
          data={tags}
          limit={20}
          value={tag}
          maxLength={128}
          onChange={pick}
        />
      )}
    </Columns>
  );
}
