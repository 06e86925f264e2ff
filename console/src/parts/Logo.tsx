export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" />
      <path d="M7.500 17.500v-7a3 3 0 0 1 3-3H13M12 12.500h5v5M17 7.500h.01" />
    </svg>
  );
}
