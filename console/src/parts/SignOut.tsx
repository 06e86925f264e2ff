import { useMutation, useQueryClient } from "@tanstack/react-query";
import { signOut } from "../api/client";
import { useLive } from "../log/LiveProvider";
import { clearTab } from "../settings";
import { useWords } from "../words";

export function SignOut({ className }: { className: string }) {
  const t = useWords();
  const queries = useQueryClient();
  const live = useLive();
  const leave = useMutation({
    mutationFn: signOut,
    onSuccess: (next) => {
      queries.setQueryData(["me"], null);
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" }); // the next user may not see them
      clearTab();
      live.restart();
      if (next !== null) location.assign(next);
    },
  });
  return (
    <button type="button" className={className} onClick={() => leave.mutate()}>
      {t("signIn.out")}
    </button>
  );
}
