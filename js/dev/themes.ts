/** The variables of two notebook themes, as far as the chat reads them. */

export const THEMES: Record<string, Record<string, string>> = {
  light: {
    "--jp-content-font-color0": "#000",
    "--jp-layout-color0": "white",
    "--jp-brand-color1": "#1976d2",
    "--jp-ui-inverse-font-color0": "#fff",
    "--jp-success-color1": "#388e3c",
    "--jp-warn-color1": "#f57c00",
    "--jp-error-color1": "#d32f2f",
    "--jp-content-link-color": "#0d47a1",
  },
  dark: {
    "--jp-content-font-color0": "#fff",
    "--jp-layout-color0": "#111",
    "--jp-brand-color1": "#2196f3",
    "--jp-ui-inverse-font-color0": "#000",
    "--jp-success-color1": "#4caf50",
    "--jp-warn-color1": "#ff9800",
    "--jp-error-color1": "#f44336",
    "--jp-content-link-color": "#64b5f6",
  },
  vscode: {
    "--vscode-editor-foreground": "#cccccc",
    "--vscode-editor-background": "#1f1f1f",
    "--vscode-button-background": "#0078d4",
    "--vscode-button-foreground": "#ffffff",
    "--vscode-testing-iconPassed": "#73c991",
    "--vscode-editorWarning-foreground": "#cca700",
    "--vscode-errorForeground": "#f85149",
    "--vscode-textLink-foreground": "#4daafc",
  },
  none: {},
};

/** Gives the page the variables of a theme. */
export function useTheme(name: string): void {
  const variables = THEMES[name] ?? {};
  for (const [variable, value] of Object.entries(variables)) {
    document.documentElement.style.setProperty(variable, value);
  }
  const back = variables["--jp-layout-color0"] ?? variables["--vscode-editor-background"];
  document.body.style.background = back ?? "Canvas";
  document.body.style.margin = "12px";
}
