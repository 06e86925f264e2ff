import type { Ref } from "react";
import { Icon } from "./Icon";

interface Props {
  name: string;
  placeholder?: string;
  value: string;
  onChange: (value: string) => void;
  ref?: Ref<HTMLInputElement>;
}

export function SearchBox({ name, placeholder = name, value, onChange, ref }: Props) {
  return (
    <label className="search">
      <Icon name="search" />
      <input
        ref={ref}
        type="search"
        className="field"
        aria-label={name}
        placeholder={placeholder}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}
