import { onlineManager } from "@tanstack/react-query";
import { afterEach, expect, test, vi } from "vitest";

vi.stubGlobal("document", { baseURI: "http://localhost/console/" });
const { queryClient } = await import("../src/api/queryClient");

afterEach(() => onlineManager.setOnline(true));

test("a change that is made offline is tried at once, and not later", async () => {
  onlineManager.setOnline(false);
  let tries = 0;
  const changing = queryClient.getMutationCache().build(queryClient, {
    mutationFn: () => {
      tries += 1;
      return Promise.reject(new TypeError("Failed to fetch"));
    },
  });

  await expect(changing.execute(undefined)).rejects.toThrow("Failed to fetch");
  expect(tries).toBe(1);
});
