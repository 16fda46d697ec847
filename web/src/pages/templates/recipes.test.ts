import { expect, test } from "vitest";
import { recipes, withTag } from "./recipes";

const recipe = recipes.find(({ key }) => key === "folders.team");

test("each letter of the tag put the label and the tags of the recipe back", () => {
  if (!recipe) throw new Error("the recipe of a team's folder is gone");
  const begun = { template: recipe.template(""), tags: ["mine"] };
  const typed = { ...begun, ...withTag(recipe, begun, "", "t") };
  expect(typed).toEqual({ template: recipe.template("t"), tags: ["mine", "t"] });
  expect(withTag(recipe, { ...typed, tags: ["t", "mine"] }, "t", "te")).toEqual({ template: recipe.template("te"), tags: ["te", "mine"] });
  expect(withTag(recipe, typed, "t", "")).toEqual({ template: recipe.template(""), tags: ["mine"] });
  expect(withTag(recipe, typed, "t", "mine").tags).toEqual(["mine"]);
  expect(withTag(recipe, { ...typed, template: "edited" }, "t", "te")).toEqual({});
});
