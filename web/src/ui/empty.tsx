// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren, ComponentType } from "preact";

interface EmptyStateProps {
  icon?: ComponentType<{ size?: number }>;
  title: string;
  children?: ComponentChildren; // what will be here, and how it comes
}

/** Where nothing is yet: says what will be here and what to do for it. */
export function EmptyState({ icon: Icon, title, children }: EmptyStateProps) {
  return (
    <div class="empty">
      {Icon && <span class="empty-icon"><Icon size={22} /></span>}
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
    </div>
  );
}
