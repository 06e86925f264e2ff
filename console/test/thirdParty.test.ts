import { expect, test } from "vitest";
import { joinSameTexts, splitLicence } from "../build/thirdParty";

const TERMS = "Permission is hereby granted, free of charge,\nto any person.\n\nTHE SOFTWARE IS PROVIDED AS IS.";

test("a licence is split into its copyright notice and its terms", () => {
  const text = `(The MIT License)\n\nCopyright (c) 2015 Ada <ada@example.com>\nCopyright (c) 2016 Bob\n\n${TERMS}`;

  expect(splitLicence(text)).toEqual({
    copyright: "Copyright (c) 2015 Ada <ada@example.com>\nCopyright (c) 2016 Bob",
    terms: TERMS,
  });
});

test("a text without a copyright notice is kept as it is", () => {
  expect(splitLicence("(the package has no licence file)")).toEqual({
    copyright: "",
    terms: "(the package has no licence file)",
  });
});

test("the same terms stand there once, with every package and every copyright notice", () => {
  const joined = joinSameTexts([
    { name: "a 1.0.0", copyright: "Copyright Ada", licence: TERMS },
    { name: "b 1.0.0", copyright: "Copyright Bob", licence: TERMS.replaceAll("\n", "\r\n") },
    { name: "c 1.0.0", copyright: "Copyright Ada", licence: TERMS },
    { name: "d 1.0.0", copyright: "Copyright Ada", licence: "Other terms." },
  ]);

  expect(joined).toEqual([
    { licence: TERMS, notices: ["a 1.0.0\nc 1.0.0\nCopyright Ada", "b 1.0.0\nCopyright Bob"] },
    { licence: "Other terms.", notices: ["d 1.0.0\nCopyright Ada"] },
  ]);
});
