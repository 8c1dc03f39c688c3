// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren, ComponentType } from "preact";
import { useId } from "preact/hooks";

export interface Tab<Name extends string> {
  name: Name;
  label: string;
  icon?: ComponentType<{ size?: number }>;
  count?: number;
}

interface TabsProps<Name extends string> {
  label: string; // what the tabs choose between
  tabs: readonly Tab<Name>[];
  current: Name;
  onChange: (name: Name) => void;
  children: ComponentChildren; // of the current tab
}

export function Tabs<Name extends string>({ label, tabs, current, onChange, children }: TabsProps<Name>) {
  const id = useId();
  const onKeyDown = (event: KeyboardEvent) => {
    const here = tabs.findIndex((tab) => tab.name === current);
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const tab = tabs[(next + tabs.length) % tabs.length]!;
    onChange(tab.name);
    document.getElementById(`${id}-${tab.name}`)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tabs-list" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button key={tab.name} id={`${id}-${tab.name}`} type="button" role="tab" class="tab" aria-selected={tab.name === current}
            aria-controls={`${id}-panel`} tabIndex={tab.name === current ? 0 : -1} onClick={() => onChange(tab.name)}>
            {tab.icon && <tab.icon size={16} />}
            <span>{tab.label}</span>
            {tab.count !== undefined && tab.count > 0 && <span class="count">{tab.count}</span>}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} class="tabs-panel" role="tabpanel" aria-labelledby={`${id}-${current}`} tabIndex={0}>{children}</div>
    </div>
  );
}
