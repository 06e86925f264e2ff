import { useMe } from "../../api/queries";
import { Header } from "../../parts/Header";
import { SignOut } from "../../parts/SignOut";
import { showToast } from "../../parts/toasts";
import { changeSettings, useSettings, type Language } from "../../settings";
import { loadWords, useWords, type Translate } from "../../words";

const THEMES = ["system", "light", "dark"] as const;
const LANGUAGES = [
  { value: "en", name: "English" },
  { value: "zh-CN", name: "中文" },
] as const;

export function SettingsScreen() {
  const t = useWords();
  const { language, theme } = useSettings();
  const me = useMe().data;
  return (
    <>
      <Header title={t("settings.title")} />
      <div className="page">
        <fieldset className="choices">
          <legend>{t("settings.language")}</legend>
          {LANGUAGES.map(({ value, name }) => (
            <label key={value} lang={value}>
              <input
                type="radio"
                name="language"
                checked={language === value}
                onChange={() => void chooseLanguage(value, t)}
              />
              {name}
            </label>
          ))}
        </fieldset>
        <fieldset className="choices">
          <legend>{t("settings.theme")}</legend>
          {THEMES.map((value) => (
            <label key={value}>
              <input
                type="radio"
                name="theme"
                checked={theme === value}
                onChange={() => changeSettings({ theme: value })}
              />
              {t(`settings.theme.${value}`)}
            </label>
          ))}
        </fieldset>
        <p className="muted">{t("settings.stored")}</p>
        {me?.access === "keys" && <SignOut className="button on-phones" />}
      </div>
    </>
  );
}

async function chooseLanguage(language: Language, t: Translate): Promise<void> {
  changeSettings({ language });
  try {
    await loadWords(language);
    changeSettings({ language }); // draws the page again, with its texts
  } catch {
    showToast(t("error.unreachable"), { isProblem: true });
  }
}
