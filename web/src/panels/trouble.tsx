// SPDX-License-Identifier: Apache-2.0
import { ApiError } from "../api/client";
import { Button } from "../ui";
import { IconWarning } from "../ui/icons";

interface TroubleProps {
  what: string; // as in "The files"
  error: Error;
  onRetry: () => void;
}

/** Something could not be loaded: says why, and what to do. */
export function Trouble({ what, error, onRetry }: TroubleProps) {
  const isGone = error instanceof ApiError && error.status === 404 && error.message.includes("session");
  return (
    <div class="trouble" role="alert">
      <IconWarning size={16} />
      <div>
        <p>{isGone ? "The session of this conversation has ended. The next run starts a new one." : `${what} could not be read: ${error.message}`}</p>
        {error instanceof ApiError && error.remedy && !isGone && <p class="trouble-remedy">{error.remedy}</p>}
        {!isGone && <Button size="small" onClick={onRetry}>Try again</Button>}
      </div>
    </div>
  );
}
