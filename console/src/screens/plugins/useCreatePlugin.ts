import { useMutation, useQueryClient } from "@tanstack/react-query";
import { createPlugin } from "../../api/plugins";

/** Creates a plugin; afterwards the list has it. */
export function useCreatePlugin() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: createPlugin,
    onSuccess: () => queries.invalidateQueries({ queryKey: ["plugins"] }),
  });
}
